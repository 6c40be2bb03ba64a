// Matrices whose names do not say what they are, results first or in the middle.
__global__ void textbook(float* P, float* M, float* N, int Width) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= Width || col >= Width) return;
  float value = 0;
  for (int k = 0; k < Width; ++k) value += M[row * Width + k] * N[k * Width + col];
  P[row * Width + col] = value;
}

__global__ void linear(float* X, float* W, float* Y, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;
  Y[row * N + col] = 0;
  for (int k = 0; k < K; ++k) Y[row * N + col] += X[row * K + k] * W[k * N + col];
}

// Of these nothing tells which one is A.
__global__ void exchanged(float* out, const float* first, const float* second, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;
  float value = 0;
  for (int k = 0; k < K; ++k) value += second[row * K + k] * first[k * N + col];
  out[row * N + col] = value;
}
