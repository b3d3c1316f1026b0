krmfn eval -i set-labels:v0.2 --match-kind ConfigMap --match-labels tier=front --exclude-name c -- app=web
