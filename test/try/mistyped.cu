// Line 4 names what is not there.
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float As[16][16];
  C[rwo * N] = As[0][0];
}
