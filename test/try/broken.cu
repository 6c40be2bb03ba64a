// Kernels with one mistake each.
#define T 16

__global__ void missing_barrier(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float As[T][T], Bs[T][T];
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < K; t += T) {
    As[threadIdx.y][threadIdx.x] = A[row * K + t + threadIdx.x];
    Bs[threadIdx.y][threadIdx.x] = B[(t + threadIdx.y) * N + col];
    __syncthreads();
    for (int k = 0; k < T; ++k) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
  }
  C[row * N + col] = sum;
}

__global__ void wrong_pitch(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * N + k] * B[k * N + col];
  C[row * N + col] = sum;
}

__global__ void no_bounds(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}

__global__ void unaligned(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float sum = 0;
  for (int k = 1; k + 3 < K; k += 4) {
    float4 a = *reinterpret_cast<const float4*>(&A[row * K + k]);
    sum += a.x * B[k * N + col] + a.y * B[(k + 1) * N + col];
  }
  C[row * N + col] = sum;
}

__global__ void forgotten_tile(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  if (row >= M || col >= N) return;
  float sum = 0;
  for (int t = 0; t < K / T; ++t)
    for (int k = t * T; k < (t + 1) * T; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}

__global__ void uninitialised(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float As[T][T + 1];
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < K; t += T) {
    As[threadIdx.y][threadIdx.x] = A[row * K + t + threadIdx.x];
    __syncthreads();
    for (int k = 0; k <= T; ++k) sum += As[threadIdx.y][k] * B[(t + k) * N + col];
    __syncthreads();
  }
  C[row * N + col] = sum;
}

__global__ void past_the_end(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float As[T * T];
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  As[threadIdx.y * T + threadIdx.x + 1] = A[row * K + threadIdx.x];
  __syncthreads();
  C[row * N + col] = As[0];
}

__global__ void rows_left_out(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  if (threadIdx.y >= 12) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}

__global__ void float_sum(const double* A, const double* B, double* C, int M, int N, int K) {
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}

__global__ void forgotten_lda(const float* A, int lda, const float* B, int ldb, float* C, int ldc, int M, int N,
                              int K) {
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  if (row >= M || col >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * ldb + col];
  C[row * ldc + col] = sum;
}

__global__ void short_row(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float a[512];
  int row = blockIdx.x;
  for (int k = threadIdx.x; k < K; k += blockDim.x) a[k] = A[row * K + k];
  __syncthreads();
  for (int col = threadIdx.x; col < N; col += blockDim.x) {
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += a[k] * B[k * N + col];
    C[row * N + col] = sum;
  }
}

__device__ unsigned int arrived[64 * 64];
__device__ float partial[2][256 * 256];

__global__ void forgotten_fence(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ unsigned int order;
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  int tile = blockIdx.y * gridDim.x + blockIdx.x;
  float sum = 0;
  for (int k = blockIdx.z; k < K; k += 2) sum += A[row * K + k] * B[k * N + col];
  partial[blockIdx.z][row * N + col] = sum;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) order = atomicInc(&arrived[tile], 1);
  __syncthreads();
  if (order == 1) C[row * N + col] = partial[0][row * N + col] + partial[1][row * N + col];
}

__global__ void whole_factors(const float* A, const float* B, float* C, int M, int N, int K, float alpha, float beta) {
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  if (row >= M || col >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = alpha * sum + (int)beta * C[row * N + col];
}

__global__ void one_product_left_out(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  if (row >= M || col >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k)
    if (k != 500) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sum;
}

__global__ void volatile_tiles(const float* A, const float* B, float* C, int M, int N, int K) {
  volatile __shared__ float a[T][T];
  volatile __shared__ float b[T][T];
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float sum = 0;
  for (int k0 = 0; k0 < K; k0 += T) {
    a[threadIdx.y][threadIdx.x] = A[row * K + k0 + threadIdx.x];
    b[threadIdx.y][threadIdx.x] = B[(k0 + threadIdx.y) * N + col];
    __syncthreads();
    for (int k = 0; k < T; ++k) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
  }
  C[row * N + col] = sum;
}

__global__ void without_negative(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = fmaxf(sum, 0.0f);
}

__global__ void unset_sums(const float* A, const float* B, float* C, int M, int N, int K) {
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float sums[4];
  for (int k = 0; k < K; ++k) sums[k % 4] += A[row * K + k] * B[k * N + col];
  C[row * N + col] = sums[0] + sums[1] + sums[2] + sums[3];
}
