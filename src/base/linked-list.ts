/**
 * A list from whose middle a value can be taken out. Each operation takes the same time however long the list
 * is, so it suits lists whose length strangers choose. (A `Set` keeps the places of deleted values,
 * and searches them each time its first value is read.)
 */

/** A value in a list. Disposing takes it out, at most once. */
export interface ListNode<T> extends Disposable {
  readonly value: T;
}

export class LinkedList<T> {
  #first: Node<T> | undefined;
  #last: Node<T> | undefined;
  #size = 0;

  get first(): ListNode<T> | undefined {
    return this.#first;
  }

  get last(): ListNode<T> | undefined {
    return this.#last;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds a value at the end. */
  push(value: T): ListNode<T> {
    const node = new Node(value, this.#last, () => this.#remove(node));
    if (this.#last) this.#last.next = node;
    else this.#first = node;
    this.#last = node;
    this.#size += 1;
    return node;
  }

  #remove(node: Node<T>): void {
    const { previous, next } = node;
    if (previous) previous.next = next;
    else this.#first = next;
    if (next) next.previous = previous;
    else this.#last = previous;
    node.previous = undefined; // a node that is still held must not hold its former neighbours
    node.next = undefined;
    this.#size -= 1;
  }
}

class Node<T> implements ListNode<T> {
  readonly value: T;
  previous: Node<T> | undefined;
  next: Node<T> | undefined;
  #remove: (() => void) | undefined;

  constructor(value: T, previous: Node<T> | undefined, remove: () => void) {
    this.value = value;
    this.previous = previous;
    this.#remove = remove;
  }

  [Symbol.dispose](): void {
    this.#remove?.();
    this.#remove = undefined;
  }
}
