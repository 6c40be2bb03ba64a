// First versions that are given alpha and beta, and leave one of them or both aside.
template <bool with_alpha, bool with_beta>
__global__ void product(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || col >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = (with_alpha ? alpha : 1) * sum + (with_beta ? beta * C[row * N + col] : 0);
}
