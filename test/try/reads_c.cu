// Kernels that are given no beta and read C before they write it, with others that say something of C or of A and B as
// they are. Launched with two blocks for each tile of 16 x 16.
__device__ float product(int row, int col, int M, int N, int K, const float* A, const float* B, int begin, int end) {
  float sum = 0;
  for (int k = begin; k < end; ++k) sum += A[row * K + k] * B[k * N + col];
  return sum;
}

__global__ void times_zero(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row < M && col < N && blockIdx.z == 0)
    C[row * N + col] = product(row, col, M, N, K, A, B, 0, K) + 0 * C[row * N + col];
}

__global__ void plain(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row < M && col < N) C[row * N + col] = product(row, col, M, N, K, A, B, 0, K);
}

__global__ void added(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row < M && col < N && blockIdx.z == 0) C[row * N + col] += product(row, col, M, N, K, A, B, 0, K);
}

__global__ void atomic_halves(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, half = K / 2;
  if (row < M && col < N)
    atomicAdd(&C[row * N + col], product(row, col, M, N, K, A, B, blockIdx.z ? half : 0, blockIdx.z ? K : half));
}

__global__ void zero_by_zero(int M, int N, int K, const float* A, const float* B, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row < M && col < N && blockIdx.z == 0) C[row * N + col] = product(row, col, M, N, K, A, B, 0, K) / 0.f * 0.f;
}

__global__ void vectors(const float* A, const float* B, float* C, int N) {
  if (threadIdx.x < N) C[threadIdx.x] = A[threadIdx.x] + B[threadIdx.x];
}

__global__ void locals(const float* A, const float* B, float* C, int N) {
  float sum[2];
  for (int k = 0; k < N; ++k) sum[1] += A[k] * B[k * N + threadIdx.x];
  C[threadIdx.x] = sum[0] + sum[1];
}
