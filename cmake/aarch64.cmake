# Toolchain of a 64-bit ARM machine with Debian's packages, whose programs run under QEMU:
#
#   dpkg --add-architecture arm64
#   apt-get install g++-aarch64-linux-gnu qemu-user-static lib{boost-context,fmt,gtest,benchmark}-dev:arm64
#   cmake -S . -B build-aarch64 -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DLAPIDARY_CUDA=OFF
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
