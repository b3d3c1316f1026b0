set -e
krmfn eval -i set-labels:v0.2 --save --type mutator --match-kind ConfigMap -- app=web
krmfn eval . --exec cat -s -t validator --fn-config labels.yaml
