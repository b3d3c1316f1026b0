krmfn eval --exec "sed -e 's/x: one/x: two/'"
