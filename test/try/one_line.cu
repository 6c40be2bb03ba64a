// B column by column through a tile in shared memory, with accesses that cost much and little on one line.
__global__ void product(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float column[32][32], row[32];
  const int col = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int k0 = 0; k0 < K; k0 += 32) {
    for (int n = 0; n < 32; ++n) {
      const int k = k0 + threadIdx.x;  // B's is a column of the matrix
      row[threadIdx.x] = A[blockIdx.y * K + k], column[n][threadIdx.x] = B[k * N + blockIdx.x * 32 + n];
    }
    __syncthreads();
    for (int k = 0; k < 32; ++k) sum += row[k] * column[threadIdx.x][k];
    __syncthreads();
  }
  C[blockIdx.y * N + col] = sum;
}
