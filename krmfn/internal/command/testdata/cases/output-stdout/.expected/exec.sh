krmfn render -o stdout
