// Leading dimensions and a separate D.
__global__ void gemm_ld(int M, int N, int K, float alpha, const float* A, int lda, const float* B, int ldb, float beta,
                        const float* C, int ldc, float* D, int ldd) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= M || j >= N) return;
  float sum = 0;
  for (int k = 0; k < K; k++) sum += A[i * lda + k] * B[k * ldb + j];
  D[i * ldd + j] = alpha * sum + beta * C[i * ldc + j];
}
