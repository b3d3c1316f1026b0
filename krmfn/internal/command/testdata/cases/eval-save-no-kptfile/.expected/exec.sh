krmfn eval -i set-labels:v0.2 --save --type mutator -- app=web
