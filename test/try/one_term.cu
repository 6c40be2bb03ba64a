// Kernels that are one term away from alpha A B + beta C, and arrays that are one array.
enum Mistake { alpha_of_c, beta_alone, twice };

template <int mistake>
__global__ void product(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  float& c = C[row * N + col];
  if (mistake == alpha_of_c) c = alpha * (sum + beta * c);
  if (mistake == beta_alone) c = alpha * sum + beta;
  if (mistake == twice) c = 2 * (alpha * sum + beta * c);
}

extern __shared__ float tile_a[];
extern __shared__ float tile_b[];

__global__ void one_array(int M, int N, int K, const float* A, const float* B, float* C) {
  int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, own = threadIdx.y * 16 + threadIdx.x;
  float sum = 0;
  for (int step = 0; step < K; step += 16) {
    int a = step + threadIdx.x, b = step + threadIdx.y;
    tile_a[own] = row < M && a < K ? A[row * K + a] : 0;
    __syncthreads();
    tile_b[own] = b < K && col < N ? B[b * N + col] : 0;
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += tile_a[threadIdx.y * 16 + k] * tile_b[k * 16 + threadIdx.x];
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = sum;
}

// A tile for each block, by a counter that stays where it ended.
__device__ int next_row = 0;

__global__ void counted(int M, int N, int K, const float* A, const float* B, float* C) {
  __shared__ int row;
  for (;;) {
    if (threadIdx.x == 0) row = atomicAdd(&next_row, 1);
    __syncthreads();
    if (row >= M) return;
    for (int col = threadIdx.x; col < N; col += blockDim.x) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
      C[row * N + col] = sum;
    }
    __syncthreads();
  }
}
