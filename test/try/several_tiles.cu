// Tiles of many sizes, by template parameters. Launched as it is written below, or with all tiles in one row of blocks.
template <int BM, int BN, int BK>
__device__ void tile(int M, int N, int K, const float* A, const float* B, float* C, int down, int across) {
  for (int place = threadIdx.x; place < BM * BN; place += blockDim.x) {
    const int row = down * BM + place / BN, col = across * BN + place % BN;
    if (row >= M || col >= N) continue;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
  }
}

template <int BM, int BN, int BK>
__global__ void tiled(int M, int N, int K, const float* A, const float* B, float* C) {
  tile<BM, BN, BK>(M, N, K, A, B, C, blockIdx.y, blockIdx.x);
}

template <int BM, int BN, int BK>
__global__ void in_one_row(int M, int N, int K, const float* A, const float* B, float* C) {
  const int across = (N + BN - 1) / BN;
  tile<BM, BN, BK>(M, N, K, A, B, C, blockIdx.x / across, blockIdx.x % across);
}

template <int BM, int BN, int BK>
void launch(int M, int N, int K, const float* A, const float* B, float* C) {
  tiled<BM, BN, BK><<<dim3((N + BN - 1) / BN, (M + BM - 1) / BM), 256>>>(M, N, K, A, B, C);
  in_one_row<BM, BN, BK><<<((N + BN - 1) / BN) * ((M + BM - 1) / BM), 256>>>(M, N, K, A, B, C);
}
