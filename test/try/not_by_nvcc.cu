// What g++ takes of a kernel, and nvcc or a GPU does not.
__global__ int returns(const float* A, const float* B, float* C, int M, int N, int K) {
  C[0] = A[0] * B[0] * M * N * K;
  return 0;
}

__global__ void catches(const float* A, const float* B, float* C, int M, int N, int K) {
  try {
    C[0] = A[0] * B[0] * M * N * K;
  } catch (...) {
  }
}

__global__ void refers(const float* A, const float* B, float* C, const int& M, const int& N, const int& K) {
  C[0] = A[0] * B[0] * M * N * K;
}

__global__ void has_any_length(const float* A, const float* B, float* C, int M, int N, int K) {
  int count = blockDim.x / 4;
  float sums[count];
  for (int i = 0; i < count; ++i) sums[i] = A[i] * B[i] * M * N * K;
  C[0] = sums[0];
}
