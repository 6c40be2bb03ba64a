// What the emulated machine does not have.
__global__ void tensor(const float* A, const float* B, float* C, int M, int N, int K) {
  using namespace nvcuda;
  C[0] = A[0] * B[0];
}
