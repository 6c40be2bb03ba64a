// Half operands, float sums and a float result; two columns a thread through half2.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

constexpr int BM = 32, BN = 64, BK = 32;

__global__ __launch_bounds__(256) void hgemm_f32(const __half* A, const __half* B, float* C, int M, int N, int K) {
  __shared__ __half As[BM][BK];
  __shared__ __half2 Bs[BK][BN / 2];
  const int tid = threadIdx.x, tx = tid % 32, ty = tid / 32;
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
  float2 sum[BM / 8];
  for (int r = 0; r < BM / 8; ++r) sum[r] = make_float2(0.0f, 0.0f);
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int r = ty; r < BM; r += 8)
      As[r][tx] = row0 + r < M && k0 + tx < K ? A[(row0 + r) * K + k0 + tx] : __float2half(0.0f);
    for (int r = ty; r < BK; r += 8) {
      const int k = k0 + r, n = col0 + 2 * tx;
      const __half zero = __float2half(0.0f);
      const __half left = k < K && n < N ? B[k * N + n] : zero, right = k < K && n + 1 < N ? B[k * N + n + 1] : zero;
      Bs[r][tx] = __halves2half2(left, right);
    }
    __syncthreads();
    for (int k = 0; k < BK; ++k) {
      const float2 b = __half22float2(Bs[k][tx]);
      for (int r = 0; r < BM / 8; ++r) {
        const float a = __half2float(As[ty + 8 * r][k]);
        sum[r].x = fmaf(a, b.x, sum[r].x);
        sum[r].y = fmaf(a, b.y, sum[r].y);
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < BM / 8; ++r) {
    const int m = row0 + ty + 8 * r, n = col0 + 2 * tx;
    if (m < M && n < N) C[m * N + n] = sum[r].x;
    if (m < M && n + 1 < N) C[m * N + n + 1] = sum[r].y;
  }
}

void launch(const __half* A, const __half* B, float* C, int M, int N, int K) {
  dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
  hgemm_f32<<<grid, 256>>>(A, B, C, M, N, K);
}
