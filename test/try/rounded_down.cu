// Blocks that go on to further tiles, so that a grid which is rounded down is enough; K in steps, of which the last is
// cut off where it ends, or left out.
constexpr int BK = 8;

template <bool whole>
__global__ void product(const float* A, const float* B, float* C, int M, int N, int K) {
  const int end = whole ? K : K / BK * BK;
  for (int row = blockIdx.y * blockDim.y + threadIdx.y; row < M; row += gridDim.y * blockDim.y) {
    for (int col = blockIdx.x * blockDim.x + threadIdx.x; col < N; col += gridDim.x * blockDim.x) {
      float sum = 0;
      for (int k = 0; k < end; ++k) sum += A[row * K + k] * B[k * N + col];
      C[row * N + col] = sum;
    }
  }
}
