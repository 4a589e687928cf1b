use super::*;
use crate::abi::handle::Datatype;

fn combined(op: usize, datatype: usize, total: &[u8], next: &[u8]) -> Vec<u8> {
    let operator = Operator::of(Op(op), &Layout::of_predefined(Datatype(datatype)).unwrap()).unwrap();
    let mut total = total.to_vec();
    operator.combine(&mut total, next);
    total
}

#[test]
fn sums_and_products_of_doubles_and_complex_numbers() {
    let bytes = |values: &[f64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
    let (a, b) = (bytes(&[1.5, -2.0]), bytes(&[3.0, 4.0]));
    assert_eq!(combined(0x21, 0x214, &a, &b), bytes(&[4.5, 2.0]));
    // (1.5 - 2i) (3 + 4i) = 4.5 + 8 + (6 - 6) i
    assert_eq!(combined(0x24, 0x216, &a, &b), bytes(&[12.5, 0.0]));
}

#[test]
fn of_equal_values_the_lower_place_wins() {
    let pair = |value: f64, place: i32| [&value.to_le_bytes()[..], &place.to_le_bytes()].concat();
    assert_eq!(combined(0x39, 0x229, &pair(2.0, 5), &pair(2.0, 3)), pair(2.0, 3));
    assert_eq!(combined(0x39, 0x229, &pair(2.0, 3), &pair(2.0, 5)), pair(2.0, 3));
    assert_eq!(combined(0x38, 0x229, &pair(2.0, 3), &pair(1.0, 5)), pair(1.0, 5));
}

#[test]
fn logic_makes_ones_and_bits_stay_bits() {
    assert_eq!(combined(0x30, 0x241, &[2, 2, 0], &[4, 0, 0]), [1, 0, 0]);
    assert_eq!(combined(0x2a, 0x247, &[0b1100], &[0b1010]), [0b0110]);
}

#[test]
fn an_operation_that_is_not_for_a_datatype_is_refused() {
    let refused = Operator::of(Op(0x28), &Layout::of_predefined(Datatype(0x214)).unwrap());
    assert!(refused.is_err_and(|error| error.class == Class::OP));
}
