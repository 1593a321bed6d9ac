//! Attributes of Rust items.

/// `#[test]` or `#[cfg(test)]`.
pub(super) fn is_test(attribute: &syn::Attribute) -> bool {
    let is_cfg_test = || match &attribute.meta {
        syn::Meta::List(list) => list.tokens.to_string() == "test",
        _ => false,
    };
    attribute.path().is_ident("test") || attribute.path().is_ident("cfg") && is_cfg_test()
}
