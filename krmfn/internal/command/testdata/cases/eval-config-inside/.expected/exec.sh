krmfn eval . -i set-labels:v0.2 --fn-config labels.yaml
