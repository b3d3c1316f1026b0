krmfn eval - -i set-labels:v0.2 -- app=web <a.txt | tee out.txt
grep -q "config.kubernetes.io/path: 'configmap_q.yaml'" out.txt && rm out.txt
