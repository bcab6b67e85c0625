//! Where in a JSON text its values stand, so that tests change one and leave every other byte as it is.

use core::ops::Range;

/// A value: the names on the way to it, where it stands, and its elements if it is an array.
#[derive(Debug, Clone)]
pub struct Node {
    pub path: String,
    pub range: Range<usize>,
    pub elements: Vec<Range<usize>>,
}

/// Every value of a compact JSON text that holds no escaped quotation mark, outermost last.
pub fn nodes(text: &[u8]) -> Vec<Node> {
    let mut nodes = Vec::new();
    let end = value(text, 0, String::new(), &mut nodes);
    assert_eq!(end, text.len());
    nodes
}

/// Where the value at `path` stands.
pub fn range(text: &[u8], path: &str) -> Range<usize> {
    nodes(text).into_iter().find(|node| node.path == path).unwrap_or_else(|| panic!("no {path}")).range
}

/// The value at `path`, as it is written.
pub fn part<'a>(text: &'a [u8], path: &str) -> &'a [u8] {
    &text[range(text, path)]
}

/// The text with other bytes at `range`.
pub fn replaced(text: &[u8], range: Range<usize>, by: &[u8]) -> Vec<u8> {
    [&text[..range.start], by, &text[range.end..]].concat()
}

/// The text with another value at `path`.
pub fn set(text: &[u8], path: &str, by: &[u8]) -> Vec<u8> {
    replaced(text, range(text, path), by)
}

/// Every text in which one element of one array is dropped, doubled, or changes places with the next.
pub fn rearranged(text: &[u8]) -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    for array in nodes(text) {
        for (at, element) in array.elements.iter().enumerate() {
            let next = array.elements.get(at + 1);
            let without = match (next, at.checked_sub(1)) {
                (Some(next), _) => element.start..next.start,
                (None, Some(before)) => array.elements[before].end..element.end,
                (None, None) => element.clone(),
            };
            texts.push(replaced(text, without, b""));
            let own = &text[element.clone()];
            texts.push(replaced(text, element.clone(), &[own, b",", own].concat()));
            if let Some(next) = next
                && text[next.clone()] != *own
            {
                let swapped = [&text[next.clone()], b",", own].concat();
                texts.push(replaced(text, element.start..next.end, &swapped));
            }
        }
    }
    texts
}

fn value(text: &[u8], start: usize, path: String, nodes: &mut Vec<Node>) -> usize {
    let (mut at, mut elements) = (start, Vec::new());
    match text[start] {
        b'"' => at = start + 2 + text[start + 1..].iter().position(|byte| *byte == b'"').unwrap(),
        open @ (b'{' | b'[') => {
            at += 1;
            while !matches!(text[at], b'}' | b']') {
                at += usize::from(text[at] == b',');
                let mut name = elements.len().to_string();
                if open == b'{' {
                    let key = value(text, at, String::new(), &mut Vec::new());
                    name = String::from_utf8(text[at + 1..key - 1].to_vec()).unwrap();
                    at = key + 1;
                }
                let end = value(text, at, format!("{path}/{name}"), nodes);
                elements.push(at..end);
                at = end;
            }
            at += 1;
            if open == b'{' {
                elements.clear();
            }
        }
        _ => at += text[start..].iter().position(|byte| matches!(byte, b',' | b'}' | b']')).unwrap(),
    }
    nodes.push(Node { path, range: start..at, elements });
    at
}
