set -e
krmfn render . --output out 2>err
! grep Successfully err
rm err
