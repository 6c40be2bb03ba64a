#include <lapidary/epilogue.hpp>

#include "halved.hpp"

inline namespace LAPIDARY_BUILD {

/// Halves what is not on the diagonal.
struct Halved {
  LAPIDARY_DEVICE float operator()(float t, int row, int col) const { return row == col ? t : t / 2; }
};

lapidary::Prepared prepare_halved(const lapidary::Problem& problem, const lapidary::Card& card) {
  return lapidary::prepare_with<lapidary::Type::f16>(problem, card, Halved());
}

}  // namespace
