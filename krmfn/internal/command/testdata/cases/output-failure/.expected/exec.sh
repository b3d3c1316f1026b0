krmfn render --allow-exec -o ../out; code=$?
test ! -e ../out || echo "../out was made" >made
exit $code
