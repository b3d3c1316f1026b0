krmfn render -o unwrap
