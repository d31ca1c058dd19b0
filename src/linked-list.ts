/** A place in a {@link LinkedList}. It belongs to the list that made it. */
export interface ListNode<Value> {
  readonly value: Value;
}

/** A doubly linked list: each method takes constant time, and so does taking a node out of the middle. */
export interface LinkedList<Value> {
  readonly first: ListNode<Value> | undefined;
  readonly last: ListNode<Value> | undefined;
  /** Adds a value at the end. */
  push(value: Value): ListNode<Value>;
  /** Takes a node out. It must be in this list: a node can be taken out only once. */
  delete(node: ListNode<Value>): void;
}

interface Link<Value> extends ListNode<Value> {
  before: Link<Value> | undefined;
  after: Link<Value> | undefined;
}

/** Makes an empty list. */
export function createLinkedList<Value>(): LinkedList<Value> {
  let first: Link<Value> | undefined;
  let last: Link<Value> | undefined;
  return {
    get first() {
      return first;
    },
    get last() {
      return last;
    },
    push(value) {
      const link: Link<Value> = { value, before: last, after: undefined };
      if (last) last.after = link;
      else first = link;
      last = link;
      return link;
    },
    delete(node) {
      const link = node as Link<Value>;
      if (link.before) link.before.after = link.after;
      else first = link.after;
      if (link.after) link.after.before = link.before;
      else last = link.before;
      link.before = undefined;
      link.after = undefined;
    },
  };
}
