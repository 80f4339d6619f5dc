# shellcheck shell=bash
# Horovod for .venv: built from its sdist once per Python, torch and machine; the wheel is kept for other checkouts.
# Sourced by setup.sh.
HOROVOD=0.28.1
CMAKE=4.4.4

# pip's own cache knows a wheel by its sdist alone and would hand out one built against another torch.
build_horovod() {
  local scratch
  scratch=$(mktemp -d)
  # Horovod asks for C++14, torch's headers need C++17: the last -std wins.
  # shellcheck disable=SC2016
  printf '#!/bin/sh\nexec %s "$@" -std=c++17\n' "${CXX:-g++}" >"$scratch/c++"
  chmod +x "$scratch/c++"
  # A minimum policy, because a current CMake refuses the one Horovod declares.
  PATH=$PWD/.venv/bin:$PATH CXX=$scratch/c++ CMAKE_POLICY_VERSION_MINIMUM=3.5 \
    HOROVOD_WITH_PYTORCH=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 \
    HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 \
    .venv/bin/python -m pip wheel --no-cache-dir --no-build-isolation --no-deps \
    --wheel-dir "$scratch" "horovod==$HOROVOD" || return
  mkdir -p "$WHEELS"
  mv "$scratch"/horovod-*.whl "$WHEELS/"
  rm -rf "$scratch"
}
has_horovod() {
  .venv/bin/python -c 'import horovod.torch; raise SystemExit(not horovod.torch.gloo_built())'
}
install_horovod() {
  # A wheel built against another torch has the same version.
  .venv/bin/python -m pip uninstall --quiet --yes horovod
  install "$WHEELS"/horovod-*.whl
  has_horovod
}

WHEELS=${XDG_CACHE_HOME:-$HOME/.cache}/cauce/wheels/horovod$HOROVOD-$(.venv/bin/python -c '
import platform, torch
print(f"py{platform.python_version()}-torch{torch.__version__}-{platform.machine()}")')
WHEELS+=${HOROVOD_GPU_OPERATIONS:+-$HOROVOD_GPU_OPERATIONS}
if ! ls "$WHEELS"/horovod-*.whl >/dev/null 2>&1; then
  command -v cmake >/dev/null || stage "CMake" install "cmake==$CMAKE"
  stage "Horovod, built from source (2 to 7 minutes)" build_horovod
fi
if ! has_horovod >/dev/null 2>&1; then stage "Horovod" install_horovod; fi
