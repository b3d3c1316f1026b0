KPT_IMAGE_PREFIX=mirror.io/fns/ krmfn render
