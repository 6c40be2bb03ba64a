// D = A * B from C++: on the GPU if there is one that kernels run on, on the emulated machine otherwise.
//
//   c++ -std=c++20 gemm.cpp $(pkg-config --cflags --libs lapidary) && ./a.out
#include <cstdio>
#include <lapidary/gemm.hpp>
#include <memory>
#include <vector>

std::unique_ptr<lapidary::Device> open() {
  try {
    return lapidary::open_gpu();
  } catch (const lapidary::Refusal&) {
    return lapidary::open_emulator();
  }
}

int main() {
  using namespace lapidary;
  constexpr int M = 2, N = 3, K = 4;
  const std::vector<float> a = {1, 2, 3, 4, 5, 6, 7, 8}, b = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
  std::vector<float> d(M * N);
  try {
    const std::unique_ptr<Device> device = open();
    const DeviceBuffer A(*device, a.size() * sizeof(float), "A"), B(*device, b.size() * sizeof(float), "B"),
        D(*device, d.size() * sizeof(float), "D");
    device->upload(A.data(), a.data(), A.bytes());
    device->upload(B.data(), b.data(), B.bytes());

    Context context(*device);
    context.gemm(device->stream(), 1, row_major_view(A.data(), Type::f32, M, K),
                 row_major_view(B.data(), Type::f32, K, N), 0, {}, row_major_view(D.data(), Type::f32, M, N));
    device->download(d.data(), D.data(), D.bytes());
    for (int i = 0; i < M; ++i) std::printf("%g %g %g\n", d[i * N], d[i * N + 1], d[i * N + 2]);

    // What would be done for larger matrices, on a card that need not be there.
    const Plan large = plan({.kind = Type::f16, .M = 4096, .N = 4096, .K = 4096}, "h200");
    std::printf("%s\n%s\n", large.id().c_str(), large.why().c_str());
  } catch (const Error& error) {
    std::fprintf(stderr, "lapidary: %s\n", error.what());
    return 1;
  }
}
