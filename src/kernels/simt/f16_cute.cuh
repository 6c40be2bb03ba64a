#pragma once
#include "tile/cute.hpp"  // before the others

#include "device/shared.hpp"
#include "kernels/built.hpp"
#include "layout/access.hpp"
#include "tile/epilogue.hpp"
#include "tile/outer_product.hpp"

namespace lapidary::inline LAPIDARY_BUILD::f16_cute {

constexpr RungInfo info = {
    .name = "f16_cute",
    .parent = "f16_padded",
    .idea = "f16_padded written over CuTe's layouts and tensors",
    .change =
        "CuTe, the layout library in CUTLASS, says where elements live and which thread has them: its layouts, "
        "partitions of its tensors, and tensors of coordinates for the edges",
    .why =
        "Padding is a mode cut in two, transposing a tile is an order of strides, and both operands are copied by "
        "the same code",
    .counter = "None: all accesses are those of f16_padded, in number, width, sectors and wavefronts",
    .cost = "CUTLASS to build with, and the time that its templates take to compile",
    .exercise = "`lapidary diff f16_padded f16_cute`: which lines are gone, and where is said what they said?",
    .architecture = 80,
};

using cute::_, cute::_1, cute::_2, cute::_8, cute::_64, cute::Int, cute::Shape, cute::Stride;

/// The ROWS x COLS tile at place (row, col) of those that a tensor is cut into; `_` for all places of a direction.
template <int ROWS, int COLS, class Tensor, class Row, class Col>
LAPIDARY_HD constexpr auto tile_at(const Tensor& tensor, Row row, Col col) {
  return cute::local_tile(tensor, Shape<Int<ROWS>, Int<COLS>>{}, cute::make_coord(row, col));
}

struct Config {
  using Element = f16;
  static constexpr int BM = 128, BN = 128, BK = 64, TM = 8, TN = 8, width = 2;
  static constexpr TileShape tile = {BM, BN, BK};
  static constexpr int threads = BM / TM * (BN / TN);

  // 128 neighbours are 2 x 64, of which the second 64 begin at 66; rows of them follow each other, 132 apart.
  using LayoutA = cute::Layout<Shape<Shape<_64, _2>, Int<BK>>, Stride<Stride<_1, Int<66>>, Int<132>>>;  // (m, k)
  using LayoutB = cute::Layout<Shape<Int<BK>, Shape<_64, _2>>, Stride<Int<132>, Stride<_1, Int<66>>>>;  // (k, n)

  // Who copies what: a layout from (thread, element of a vector, vector) to the tile's coordinates, counted down its
  // columns. Neighbouring threads take neighbouring vectors of a row.
  template <int ROWS, int COLS, int across = COLS / 8, int down = threads / across>
  using Copies = cute::Layout<Shape<Shape<Int<across>, Int<down>>, _8, Int<ROWS / down>>,
                              Stride<Stride<Int<8 * ROWS>, _1>, Int<ROWS>, Int<down>>>;
  template <class Tensor>
  LAPIDARY_HD static constexpr auto copied_by(int thread, const Tensor& tile) {
    return tile.compose(Copies<cute::size<0>(Tensor{}), cute::size<1>(Tensor{})>{})(thread, _, _);
  }
  // The rows of A's tile and the columns of B's that a thread multiplies.
  template <class Tensor>
  LAPIDARY_HD static constexpr auto rows_of(int thread, const Tensor& a) {
    return tile_at<TM, BK>(a, thread / (BN / TN), 0);
  }
  template <class Tensor>
  LAPIDARY_HD static constexpr auto columns_of(int thread, const Tensor& b) {
    return tile_at<BK, TN>(b, 0, thread % (BN / TN));
  }
};

// Tensors whose elements are their own offsets.
constexpr auto offsets_a = cute::make_tensor(cute::counting_iterator<int>(), Config::LayoutA{});
constexpr auto offsets_b = cute::make_tensor(cute::counting_iterator<int>(), Config::LayoutB{});
static_assert(wavefronts(warp_access<f16, 2>([](int lane) { return Config::rows_of(lane, offsets_a)(0, 1); })) == 1);
static_assert(wavefronts(warp_access<f16, 2>([](int lane) { return Config::columns_of(lane, offsets_b)(1, 0); })) == 1);
static_assert(wavefronts(warp_access<f16, 2>([](int lane) { return Config::copied_by(lane, offsets_b)(0, 0); })) == 1);
static_assert(wavefronts(warp_access<f16>([](int lane) { return Config::copied_by(lane, offsets_a)(0, 0); })) == 4,
              "a known conflict");

struct Storage {
  SharedArray<f16, cute::cosize(Config::LayoutA{})> a;  // (BM, BK)
  SharedArray<f16, cute::cosize(Config::LayoutB{})> b;  // (BK, BN)
};

/// Copies a thread's part of a tile to shared memory, `width` elements by one access there; zeros for those whose
/// coordinates `at` are not below `shape`, that of the matrix.
template <int width, bool vectorized, class From, class At, class Extents, class To>
LAPIDARY_DEVICE void copy_part(const From& from, const At& at, const Extents& shape, const To& to) {
#pragma unroll
  for (int v = 0; v < cute::size<1>(To{}); ++v) {
    Vector<f16, 8> vector{};
    if constexpr (vectorized) {
      if (cute::elem_less(at(0, v), shape)) vector = load_vector<8>(from(0, v));
    } else {
#pragma unroll
      for (int e = 0; e < 8; ++e)
        if (cute::elem_less(at(e, v), shape)) vector.element[e] = from(e, v);
    }
    write_shared<width>(vector, [&](int e) -> f16& { return to(e, v); });
  }
}

/// A row-major matrix.
LAPIDARY_DEVICE auto matrix(const f16* elements, std::int64_t rows, std::int64_t cols, std::int64_t ld) {
  return cute::make_tensor(cute::make_gmem_ptr(elements), cute::make_shape(rows, cols), cute::make_stride(ld, _1{}));
}

template <bool vectorized>
__global__ void __launch_bounds__(Config::threads) kernel(const Gemm<f16> g) {
  constexpr int BM = Config::BM, BN = Config::BN, BK = Config::BK, TM = Config::TM, TN = Config::TN;
  auto& storage = shared_storage<Storage>();
  const auto sA = cute::make_tensor(cute::make_smem_ptr(storage.a.data), Config::LayoutA{});
  const auto sB = cute::make_tensor(cute::make_smem_ptr(storage.b.data), Config::LayoutB{});
  const RowCol<std::int64_t> block = block_tile<BM, BN>(g.N);
  const auto row = block.row / BM, col = block.col / BN;
  const int thread = threadIdx.x;
  const auto part = [&](const auto& tile) { return Config::copied_by(thread, tile); };
  // Tiles by (m, k, step) and (k, n, step): the matrices' elements, and the coordinates of these.
  const auto mA = matrix(g.A, g.M, g.K, g.lda), mB = matrix(g.B, g.K, g.N, g.ldb);
  const auto gA = tile_at<BM, BK>(mA, row, _);
  const auto gB = tile_at<BK, BN>(mB, _, col);
  const auto cA = tile_at<BM, BK>(cute::make_identity_tensor(cute::shape(mA)), row, _);
  const auto cB = tile_at<BK, BN>(cute::make_identity_tensor(cute::shape(mB)), _, col);
  const auto tA = Config::rows_of(thread, sA);
  const auto tB = Config::columns_of(thread, sB);
  float rD[TM][TN] = {};
  for (std::int64_t step = 0; step < cute::size<2>(gA); ++step) {
    copy_part<1, vectorized>(part(gA(_, _, step)), part(cA(_, _, step)), cute::shape(mA), part(sA));
    copy_part<Config::width, vectorized>(part(gB(_, _, step)), part(cB(_, _, step)), cute::shape(mB), part(sB));
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < BK; ++k) {
      float rA[TM], rB[TN];
      read_shared<Config::width>(rA, [&](int i) -> f16& { return tA(i, k); });
      read_shared<Config::width>(rB, [&](int j) -> f16& { return tB(k, j); });
      outer_product(rD, rA, rB);
    }
    __syncthreads();
  }
  const auto cD = tile_at<BM, BN>(cute::make_identity_tensor(cute::make_shape(g.M, g.N)), row, col);
  const auto tD = tile_at<TM, TN>(cD, thread / (BN / TN), thread % (BN / TN));
#pragma unroll
  for (int i = 0; i < TM; ++i) store_results<vectorized>(g, cute::get<0>(tD(i, 0)), cute::get<1>(tD(i, 0)), rD[i]);
}

template <class Config>
Prepared prepare(const Problem& problem, const Card&) {
  return prepared_tiles<Config, Storage>(info, vectorizable(problem) ? kernel<true> : kernel<false>, problem);
}

template <class>
constexpr BuiltKernel built_kernels[] = {built<Config>(prepare<Config>)};

}  // namespace lapidary::inline LAPIDARY_BUILD::f16_cute
