// Ways of their own for factors that need no multiplication, and what such a way forgets; and a kernel that leaves
// zeros where its operands were.
enum Mistake { none, beta_zero_drops_alpha, beta_zero_adds_c, alpha_one_drops_c, clears_a };

template <int mistake>
__global__ void product(int M, int N, int K, float alpha, float* A, const float* B, float beta, float* C) {
  extern __shared__ float row[];
  for (int k = threadIdx.x; k < K; k += blockDim.x) {
    row[k] = A[blockIdx.x * K + k];
    if (mistake == clears_a) A[blockIdx.x * K + k] = 0;
  }
  __syncthreads();
  for (int col = threadIdx.x; col < N; col += blockDim.x) {
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += row[k] * B[k * N + col];
    float& c = C[blockIdx.x * N + col];
    if (beta == 0)
      c = (mistake == beta_zero_drops_alpha ? 1 : alpha) * sum + (mistake == beta_zero_adds_c ? c : 0);
    else if (alpha == 1)
      c = sum + (mistake == alpha_one_drops_c ? 0 : beta * c);
    else
      c = alpha * sum + beta * c;
  }
}

// D is not C, and the sums go to the wrong one of the two.
__global__ void by_way_of_c(int M, int N, int K, const float* A, const float* B, float* C, float* D) {
  for (int col = threadIdx.x; col < N; col += blockDim.x) {
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[blockIdx.x * K + k] * B[k * N + col];
    C[blockIdx.x * N + col] = sum;
    D[blockIdx.x * N + col] = C[blockIdx.x * N + col];
  }
}
