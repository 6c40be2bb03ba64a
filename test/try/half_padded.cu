// Half precision on CUDA cores: tiles of 128 x 128 x 64, 8 x 8 results a thread, A's tile transposed. With two unused
// halves, one bank, after every 64, rows begin at multiples of 264 bytes: not all of them can be read by 128 bits. M, N
// and K must be multiples of the tile.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

constexpr int BM = 128, BN = 128, BK = 64, THREADS = 256;

template <int padding>
__device__ int place(int k, int i) {
  return k * (128 + 2 * padding) + i + i / 64 * padding;
}

// Eight neighbours in shared memory, as floats.
template <int bits>
__device__ void read(const half* from, float (&to)[8]) {
  float4 whole;
  const half2* pairs = reinterpret_cast<const half2*>(from);
  if (bits == 128) {
    whole = *reinterpret_cast<const float4*>(from);
    pairs = reinterpret_cast<const half2*>(&whole);
  }
  for (int i = 0; i < 4; ++i) {
    const float2 two = __half22float2(pairs[i]);
    to[2 * i] = two.x;
    to[2 * i + 1] = two.y;
  }
}

template <int padding, int bits>
__global__ void __launch_bounds__(THREADS) hgemm(const half* A, const half* B, half* C, int M, int N, int K) {
  __shared__ __align__(16) half As[BK * (BM + 2 * padding)], Bs[BK * (BN + 2 * padding)];
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
  const int row = threadIdx.x / 16 * 8, col = threadIdx.x % 16 * 8;
  float sum[8][8] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x * 8; i < BM * BK; i += THREADS * 8) {
      const int m = i / BK, k = i % BK;
      const float4 eight = *reinterpret_cast<const float4*>(&A[(row0 + m) * K + k0 + k]);
      const half* a = reinterpret_cast<const half*>(&eight);
      for (int j = 0; j < 8; ++j) As[place<padding>(k + j, m)] = a[j];
    }
    for (int i = threadIdx.x * 8; i < BK * BN; i += THREADS * 8) {
      const int k = i / BN, n = i % BN;
      const float4 eight = *reinterpret_cast<const float4*>(&B[(k0 + k) * N + col0 + n]);
      const half2* b = reinterpret_cast<const half2*>(&eight);
      for (int j = 0; j < 4; ++j) *reinterpret_cast<half2*>(&Bs[place<padding>(k, n + 2 * j)]) = b[j];
    }
    __syncthreads();
    for (int k = 0; k < BK; ++k) {
      float a[8], b[8];
      read<bits>(&As[place<padding>(k, row)], a);
      read<bits>(&Bs[place<padding>(k, col)], b);
      for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j) sum[i][j] += a[i] * b[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 8; ++i) {
    float4 eight;
    half2* pairs = reinterpret_cast<half2*>(&eight);
    for (int j = 0; j < 4; ++j) pairs[j] = __floats2half2_rn(sum[i][2 * j], sum[i][2 * j + 1]);
    *reinterpret_cast<float4*>(&C[(row0 + row + i) * N + col0 + col]) = eight;
  }
}

void launch(const half* A, const half* B, half* C, int M, int N, int K) {
  hgemm<2, 32><<<dim3(N / BN, M / BM), THREADS>>>(A, B, C, M, N, K);
}
