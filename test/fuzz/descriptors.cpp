#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "cli/access_grammar.hpp"
#include "cli/command.hpp"
#include "core/error.hpp"
#include "fuzz.hpp"
#include "layout/matrix_descriptor.hpp"

namespace lapidary::fuzz {
namespace {

/// A tile in shared memory as wgmma reads it, `LAYOUT; k or mn`: each element that an instruction reads by the tile's
/// descriptor is where the layout has it.
void read_tile(const std::string& input) {
  const std::size_t end = std::min(input.find(';'), input.size());
  const cli::TypedLayout tile = cli::parse_layout(std::string_view(input).substr(0, end));
  const Major major = input.find("mn", end) == input.npos ? Major::k : Major::mn;
  const Layout& layout = tile.layout;
  const int bytes = tile.element_bytes;
  const MatrixTile matrix(layout, major, bytes);
  const MatrixDescriptor descriptor = matrix.descriptor(0);
  if (decode_matrix_descriptor(encode(descriptor)) != descriptor)
    throw Violation("a matrix descriptor's bits are those of another one");
  if (matrix.encoded(0) != encode(descriptor)) throw Violation("a tile has two descriptors");
  if (layout.rank() != 2) return;
  for (int mn = 0; mn < std::min(layout.shape(0), 64); ++mn)
    for (int k = 0; k < std::min(layout.shape(1), 32 / bytes); ++k)
      if (const auto at = address_of(descriptor, major, bytes, mn, k);
          at != static_cast<std::uint32_t>(layout(mn, k) * bytes))
        throw Violation(fmt::format("{}: element ({}, {}) is at byte {}, and by its descriptor at {}",
                                    to_string(layout), mn, k, layout(mn, k) * bytes, at));
}

/// A command line of the program.
void read_command(const std::string& input) {
  std::vector<std::string> words;
  std::istringstream stream(input);
  for (std::string word; stream >> word;) words.insert(words.begin(), word);  // CLI11 takes the last one first
  CLI::App parser;
  parser.require_subcommand(1);
  const cli::App program(parser);
  const cli::Command commands[] = {cli::add_tma(program), cli::add_descriptor(program)};
  try {
    parser.parse(words);
  } catch (const CLI::ParseError& error) {
    throw InvalidArgument(error.what());
  }
  for (const cli::Command& command : commands)
    if (command.app.parsed()) command.execute();
}

}  // namespace

std::vector<Target> descriptor_targets() {
  return {
      {"tiles",
       {"bf16 128x64^3,3,3; k", "bf16 (128,2,64):(64,8192,1)^3,3,3; k", "bf16 (4,64,64):(4096,1,64)^3,3,3; mn",
        "bf16 (16,8,2,8):(64,8,1024,1); k", "e4m3 64x128^3,4,3; k", "tf32 64x32^3,2,3; k", "f16 64x32^2,3,3; k",
        "f16 (64,16):(1,64)^3,3,3; mn"},
       {"bf16", "f16", "tf32", "f32", "e4m3", "u8", "mn", "k",    ";",         ":",        "^",
        "+",    "(",   ")",    ",",   "x",    "8",  "64", "4096", "134217728", "268435456"},
       read_tile},
      {"descriptors",
       {"descriptor 0x4000004000010240", "descriptor 4611686293305360960 --major mn --type f16 --mn 128 --json",
        "tma --size 4096,4096 --box 64,128 --swizzle 128", "tma --size 100,50,7 --box 16,8,2 --type f32 --at -16,3,1",
        "tma --size 64,64,8,8,8 --box 8,4,2,1,1 --stride 128,8192,65536,524288 --element-strides 1,2,1 --fill nan --json",
        "tma --size 1024 --box 256 --type u8 --base 64 --rows 3"},
       {"descriptor", "tma",    "--size", "--box",  "--type", "--swizzle", "--stride",   "--element-strides",
        "--at",       "--fill", "--base", "--rows", "--json", "--major",   "--mn",       "mn",
        "k",          "32",     "64",     "128",    "e4m3",   "f64",       "bf16",       "nan",
        "zero",       " ",      ",",      "0x",     "-16",    "256",       "4294967296", "1099511627760"},
       read_command}};
}

}  // namespace lapidary::fuzz
