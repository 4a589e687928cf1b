#!/usr/bin/env bash
# Puts the MPI library, its header, the launcher of runs and the recorder into the Python package.
# usage: install.sh BUILT PACKAGE   (the folder where cargo has built, the folder python/hopcast)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
built=$1
package=$2
mkdir -p "$package/lib" "$package/include/mpi"
install -m 755 "$built/libmpi_abi.so" "$package/lib/libmpi_abi.so.1"
# For -lmpi_abi: a line for the linker, since a wheel would hold a link as a second copy.
rm -f "$package/lib/libmpi_abi.so"
echo "INPUT(libmpi_abi.so.1)" >"$package/lib/libmpi_abi.so"
install -m 755 "$built/libhopcast_record.so" "$package/lib/"
install -m 644 "$here"/include/mpi.h "$here"/include/hopcast.h "$package/include/"
install -m 644 "$here"/include/mpi/*.h "$package/include/mpi/"
"${CC:-cc}" -std=c11 -O2 -Wall -Wextra -o "$package/lib/hopcast-launcher" "$here/launcher/launcher.c" -rdynamic -s -ldl

# The front for what was compiled against MPICH, under the names that it and Debian give it.
front=$(mktemp --suffix .s)
trap 'rm -f "$front"' EXIT
cat "$here/mpich/variables.s" >"$front"
sed -n 's/^.* MPI_FN(\([A-Za-z0-9_]*\))(.*/    function MPI_\1, hopcast_mpich_\1\n    function PMPI_\1, hopcast_mpich_\1/p' \
  "$here"/include/mpi/*.h >>"$front"
for name in libmpi.so.12 libmpich.so.12; do
  "${CC:-cc}" -shared -nostdlib -Wl,-soname,$name -Wl,-rpath,'$ORIGIN' -Wl,-z,defs -o "$package/lib/$name" "$front" \
    "$package/lib/libmpi_abi.so.1"
done
