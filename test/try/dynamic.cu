// extern __shared__ memory, divided by hand.
extern "C" __global__ void tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  extern __shared__ float smem[];
  const int T = blockDim.x;
  float* sA = smem;
  float* sB = smem + T * T;
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float acc = 0.f;
  for (int t = 0; t < k; t += T) {
    sA[threadIdx.y * T + threadIdx.x] = (row < m && t + threadIdx.x < k) ? a[row * k + t + threadIdx.x] : 0.f;
    sB[threadIdx.y * T + threadIdx.x] = (col < n && t + threadIdx.y < k) ? b[(t + threadIdx.y) * n + col] : 0.f;
    __syncthreads();
    for (int i = 0; i < T; i++) acc += sA[threadIdx.y * T + i] * sB[i * T + threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = acc;
}
