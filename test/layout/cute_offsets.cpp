#include "kernels/simt/f16_cute.cuh"  // before the others, for CuTe

#include <sstream>

#include "layout/cute_offsets.hpp"

namespace lapidary {
namespace {

using cute::_1, cute::Int, cute::Shape, cute::Stride;

template <class Layout>
CuteLayout entry(const char* name, const Layout& layout) {
  std::ostringstream text;
  text << layout;
  CuteLayout result{name, text.str(), {}};
  const int rows = cute::size<0>(layout), cols = cute::size<1>(layout);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) {
      if constexpr (cute::rank(Layout{}) == 3) {
        for (int k = 0; k < cute::size<2>(layout); ++k) result.offsets.push_back(layout(i, j, k));
      } else {
        result.offsets.push_back(layout(i, j));
      }
    }
  }
  return result;
}

/// ROWS x COLS, of which each row begins `pitch` after the one before it.
template <int ROWS, int COLS, int pitch = COLS>
constexpr auto rows() {
  return cute::make_layout(Shape<Int<ROWS>, Int<COLS>>{}, Stride<Int<pitch>, _1>{});
}

template <int bits, int base, int shift, class Layout>
constexpr auto swizzled(const Layout& layout) {
  return cute::composition(cute::Swizzle<bits, base, shift>{}, layout);
}

/// A shared memory atom of wgmma, which CuTe defines by bytes, in elements.
template <class Atom>
constexpr auto in_elements(const Atom& atom) {
  return cute::as_position_independent_swizzle_layout(atom);
}

}  // namespace

std::vector<CuteLayout> cute_layouts() {
  using Half = std::uint16_t;
  namespace wgmma = cute::GMMA;
  const auto tile_a = cute::select<1, 0>(f16_cute::Config::LayoutA{});  // (k, m)
  const auto tile_b = f16_cute::Config::LayoutB{};
  const auto atom_128 = in_elements(wgmma::Layout_K_SW128_Atom<Half>{});
  return {
      entry("shared_tiles 32x32x32 A", rows<32, 32>()),
      entry("shared_tiles 32x32x32 B", rows<32, 32>()),
      entry("shared_tiles 16x16x16 A", rows<16, 16>()),
      entry("shared_tiles 16x16x16 B", rows<16, 16>()),
      entry("shared_tiles 32x32x8 A", rows<32, 8>()),
      entry("shared_tiles 32x32x8 B", rows<8, 32>()),
      entry("shared_tiles 32x32x64 A", rows<32, 64>()),
      entry("shared_tiles 32x32x64 B", rows<64, 32>()),
      entry("thread_tiles_1d 64x64x8 A", rows<64, 8>()),
      entry("thread_tiles_1d 64x64x8 B", rows<8, 64>()),
      entry("thread_tiles_1d 64x64x16 A", rows<64, 16>()),
      entry("thread_tiles_1d 64x64x16 B", rows<16, 64>()),
      entry("thread_tiles_2d 128x128x8 A", rows<128, 8>()),
      entry("thread_tiles_2d 128x128x8 B", rows<8, 128>()),
      entry("vectorized 128x128x8 A", rows<8, 128>()),
      entry("vectorized 128x128x8 B", rows<8, 128>()),
      entry("vectorized 128x128x16 A", rows<16, 128>()),
      entry("vectorized 128x128x16 B", rows<16, 128>()),
      entry("padded_folk 128x128x8 B", rows<8, 128, 133>()),
      entry("conflict_free 128x128x8 A", rows<8, 128, 132>()),
      entry("warp_tiles 128x128x8 A", rows<8, 128, 132>()),
      entry("warp_tiles 128x128x16 A", rows<16, 128, 132>()),
      entry("multistage 128x128x32 A", rows<32, 128, 132>()),
      entry("multistage 128x128x32 B", rows<32, 128>()),
      entry("multistage 128x256x32 A", rows<32, 128, 132>()),
      entry("multistage 128x256x32 B", rows<32, 256>()),
      entry("f16_padded 128x128x64 A", tile_a),
      entry("f16_padded 128x128x64 B", tile_b),
      entry("f16_unpadded 128x128x64 A", rows<64, 128>()),
      entry("f16_unpadded 128x128x64 B", rows<64, 128>()),
      entry("wgmma f16, no swizzle, K", in_elements(wgmma::Layout_K_INTER_Atom<Half>{})),
      entry("wgmma f16, 32 bytes, K", in_elements(wgmma::Layout_K_SW32_Atom<Half>{})),
      entry("wgmma f16, 64 bytes, K", in_elements(wgmma::Layout_K_SW64_Atom<Half>{})),
      entry("wgmma f16, 128 bytes, K", atom_128),
      entry("wgmma f16, 32 bytes, MN", in_elements(wgmma::Layout_MN_SW32_Atom<Half>{})),
      entry("wgmma f16, 64 bytes, MN", in_elements(wgmma::Layout_MN_SW64_Atom<Half>{})),
      entry("wgmma f16, 128 bytes, MN", in_elements(wgmma::Layout_MN_SW128_Atom<Half>{})),
      entry("wgmma f32, 128 bytes, K", in_elements(wgmma::Layout_K_SW128_Atom<float>{})),
      entry("wgmma f16, 128 bytes, K, 128x64", cute::tile_to_shape(atom_128, Shape<Int<128>, Int<64>>{})),
      entry("wgmma f16, 128 bytes, K, 128x128", cute::tile_to_shape(atom_128, Shape<Int<128>, Int<128>>{})),
      entry("wgmma f16, 128 bytes, K, 64x64, 3 stages",
            cute::tile_to_shape(atom_128, Shape<Int<64>, Int<64>, Int<3>>{})),
      entry("f32, rows of 32, vectors of 4 swizzled", swizzled<3, 2, 3>(rows<128, 32>())),
      entry("f32, swizzle by bits further up", swizzled<2, 3, 4>(rows<64, 64>())),
      entry("f16, padded, then swizzled", swizzled<3, 3, 3>(tile_b)),
  };
}

}  // namespace lapidary
