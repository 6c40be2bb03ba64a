#include <cuda_runtime.h>

// Names that need more than a look at one word: kernels in namespaces, template parameters whose names are parts of
// words, types that are members of a template, and __shared__ variables of a type without a name.
namespace gemm {
constexpr int tile = 16;

namespace detail {

template <typename Element, int width>
struct Config {
  using T = Element;
  static constexpr int BK = width;
};
struct Other {
  using T = int;
};

struct Factor {
  float* value;
  int width;
};

template <typename t>
__global__ void product(const typename t::T* A, const typename t::T* B, typename t::T* out, int M, int N, int K) {
  __shared__ struct { typename t::T a[tile][t::BK], b[t::BK][tile]; } tiles;
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * tile + y, col = blockIdx.x * tile + x;
  typename t::T sum = 0;
  for (int k0 = 0; k0 < K; k0 += t::BK) {
    tiles.a[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0;
    tiles.b[y][x] = col < N && k0 + y < K ? B[(k0 + y) * N + col] : 0;
    __syncthreads();
    for (int k = 0; k < t::BK; ++k) sum += tiles.a[y][k] * tiles.b[k][x];
    __syncthreads();
  }
  if (row < M && col < N) out[row * N + col] = sum;
}

}  // namespace detail

template <int t>
__global__ void of_matrices(detail::Factor A, detail::Factor B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * t + threadIdx.y, col = blockIdx.x * t + threadIdx.x;
  if (row >= M || col >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A.value[row * A.width + k] * B.value[k * B.width + col];
  C[row * N + col] = sum;
}
}  // namespace gemm

void launch(const float* A, const float* B, float* C, int M, int N, int K) {
  using Config = gemm::detail::Config<float, 16>;
  gemm::detail::product<Config>
      <<<dim3((N + Config::BK - 1) / Config::BK, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
}
