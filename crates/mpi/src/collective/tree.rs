//! Shapes that several algorithms share: the binomial tree, the balanced binary tree, and the fold
//! that makes the number of ranks a power of two.

use super::shape::ceil_log2;

/// A member of the binomial tree over `0..size` with root 0: the parent of v is v without its lowest
/// set bit; child j of v is v + 2ʲ, with the 2ʲ numbers from there (as far as they exist) below it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Binomial {
    pub number: u32,
    pub size: u32,
}

impl Binomial {
    pub fn new(number: u32, size: u32) -> Binomial {
        Binomial { number, size }
    }
    /// None for the root.
    pub fn parent(self) -> Option<u32> {
        (self.number > 0).then(|| self.number & (self.number - 1))
    }
    /// Number of children.
    pub fn children(self) -> u32 {
        self.number.trailing_zeros().min(ceil_log2(self.size - self.number))
    }
    /// Child `index`, the one with the largest subtree last.
    pub fn child(self, index: u32) -> u32 {
        self.number + (1 << index)
    }
    /// Size of its subtree, itself included: the numbers from `number` on.
    pub fn subtree(self) -> u32 {
        let rest = self.size - self.number;
        if self.number == 0 { rest } else { rest.min(1 << self.number.trailing_zeros()) }
    }
    /// Rounds until the root has heard of all below it: one for each child, one to tell the parent.
    pub fn rounds(self) -> u32 {
        self.children() + u32::from(self.number > 0)
    }
}

/// A member of a binary tree over `0..size` with root 0 whose levels fill up one after another, the
/// numbers of a level alternating between the subtrees: odd numbers lie in the left half of the tree,
/// even ones in the right half, and the halves differ by one member at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Binary {
    pub number: u32,
    pub size: u32,
}

impl Binary {
    fn level(self) -> u32 {
        (self.number + 1).ilog2()
    }
    /// None for the root.
    pub fn parent(self) -> Option<u32> {
        let above = 1u32 << self.level().checked_sub(1)?;
        Some(above - 1 + (self.number + 1 - 2 * above) % above)
    }
    /// Left, right.
    pub fn children(self) -> [Option<u32>; 2] {
        let width = 1u64 << self.level();
        [1, 2].map(|side| {
            let child = u64::from(self.number) + side * width;
            (child < u64::from(self.size)).then_some(child as u32)
        })
    }
    /// Levels below the root of a tree of `size`.
    pub fn depth(size: u32) -> u32 {
        size.ilog2()
    }
}

/// A member of a balanced binary tree over `0..size` whose root is the last number, and whose subtrees
/// are ranges that end at their roots: left ⊕ right ⊕ own keeps the order of numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ordered {
    pub parent: Option<u32>,
    pub left: Option<u32>,
    pub right: Option<u32>,
}

impl Ordered {
    /// Finds the place of `number` from the root down, in log₂(size) steps.
    pub fn new(number: u32, size: u32) -> Ordered {
        // The subtree of the numbers low..=top; its root is `top`.
        let (mut low, mut top, mut parent) = (0, size - 1, None);
        loop {
            let middle = low + (top - low) / 2;
            if number == top {
                let left = (middle > low).then(|| middle - 1);
                let right = (top > low).then(|| top - 1);
                return Ordered { parent, left, right };
            }
            parent = Some(top);
            if number >= middle {
                (low, top) = (middle, top - 1);
            } else {
                top = middle - 1;
            }
        }
    }
}

/// The fold to the largest power of two: of the first `2 * extra` ranks each even one hands its part to
/// the odd one next to it and waits for the result; the order of ranks is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fold {
    /// Number of ranks that stay: a power of two.
    pub power: u32,
    /// Number of ranks that leave.
    pub extra: u32,
    /// A rank that must not leave; its neighbour leaves instead.
    keep: Option<u32>,
}

/// Role of a rank in the fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It hands its part to that rank, and gets the result back.
    Leaves { to: u32 },
    /// It takes part under this number, and for that rank too.
    Stays { number: u32, absorbs: Option<u32> },
}

impl Fold {
    pub fn new(size: u32) -> Fold {
        let power = 1 << size.ilog2();
        Fold { power, extra: size - power, keep: None }
    }
    /// A fold in which `rank` stays.
    pub fn keeping(size: u32, rank: u32) -> Fold {
        Fold { keep: Some(rank), ..Fold::new(size) }
    }
    pub fn role(self, rank: u32) -> Role {
        if rank >= 2 * self.extra {
            return Role::Stays { number: rank - self.extra, absorbs: None };
        }
        let (number, other) = (rank / 2, rank ^ 1);
        if self.rank(number) == rank {
            Role::Stays { number, absorbs: Some(other) }
        } else {
            Role::Leaves { to: other }
        }
    }
    /// Messages that a rank sends where all that stay exchange with each other in each doubling: one more before, if it
    /// leaves, or after, for the one that has left.
    pub fn sends(self, rank: u32) -> u64 {
        match self.role(rank) {
            Role::Leaves { .. } => 1,
            Role::Stays { absorbs, .. } => u64::from(self.doublings()) + u64::from(absorbs.is_some()),
        }
    }
    /// The rank that takes part as `number`.
    pub fn rank(self, number: u32) -> u32 {
        if number >= self.extra {
            number + self.extra
        } else if self.keep == Some(2 * number) {
            2 * number
        } else {
            2 * number + 1
        }
    }
    /// The ranks for which `count` numbers from `number` stand: the first, and how many.
    pub fn ranks(self, number: u32, count: u32) -> (u32, u32) {
        let begin = |number: u32| number + number.min(self.extra);
        (begin(number), begin(number + count) - begin(number))
    }
    /// log₂ of `power`.
    pub fn doublings(self) -> u32 {
        self.power.trailing_zeros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_and_children_of_the_binomial_tree_agree_and_subtrees_add_up() {
        for size in 1..70 {
            let node = |number| Binomial::new(number, size);
            for number in 0..size {
                let children: Vec<u32> =
                    (0..node(number).children()).map(|j| node(number).child(j)).collect();
                assert!(children.iter().all(|child| node(*child).parent() == Some(number)));
                let below: u32 = children.iter().map(|child| node(*child).subtree()).sum();
                assert_eq!(node(number).subtree(), 1 + below);
            }
            assert_eq!(node(0).subtree(), size);
        }
    }

    #[test]
    fn the_halves_of_the_binary_tree_are_odd_and_even() {
        for size in 1..70 {
            for number in 0..size {
                let node = Binary { number, size };
                for child in node.children().into_iter().flatten() {
                    assert_eq!(Binary { number: child, size }.parent(), Some(number));
                    assert!(number == 0 || child % 2 == number % 2);
                }
            }
        }
    }

    #[test]
    fn an_ordered_tree_is_a_tree_of_ranges_and_of_logarithmic_depth() {
        for size in 1..70u32 {
            for number in 0..size {
                let node = Ordered::new(number, size);
                for child in [node.left, node.right].into_iter().flatten() {
                    assert_eq!(Ordered::new(child, size).parent, Some(number));
                }
                assert!(node.right.is_none_or(|right| right == number - 1));
                let (mut depth, mut at) = (0, number);
                while let Some(parent) = Ordered::new(at, size).parent {
                    (depth, at) = (depth + 1, parent);
                }
                assert_eq!(at, size - 1);
                assert!(depth <= size.ilog2(), "{number} of {size} lies {depth} deep");
            }
        }
    }

    #[test]
    fn a_fold_numbers_those_who_stay() {
        for size in 1..40 {
            for fold in [Fold::new(size), Fold::keeping(size, size / 3)] {
                let mut numbers = 0;
                for rank in 0..size {
                    match fold.role(rank) {
                        Role::Stays { number, .. } => {
                            assert_eq!((number, fold.rank(number)), (numbers, rank));
                            numbers += 1;
                        }
                        Role::Leaves { to } => {
                            assert!(
                                matches!(fold.role(to), Role::Stays { absorbs, .. } if absorbs == Some(rank))
                            );
                        }
                    }
                }
                assert_eq!(numbers, fold.power);
            }
            assert!(matches!(Fold::keeping(size, size / 3).role(size / 3), Role::Stays { .. }));
        }
    }
}
