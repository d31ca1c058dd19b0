const FIRST_CAPACITY = 4;

/** A list of different numbers below 2^32 in no order, four bytes each, that grows by half when it is full. */
export class IdList {
  private ids = new Uint32Array(FIRST_CAPACITY);
  private count = 0;

  get length(): number {
    return this.count;
  }

  add(id: number): void {
    if (this.count === this.ids.length) {
      const larger = new Uint32Array(Math.ceil(this.count * 1.5));
      larger.set(this.ids);
      this.ids = larger;
    }
    this.ids[this.count++] = id;
  }

  /** The last one takes its place. Nothing happens if it is not there. */
  delete(id: number): void {
    const index = this.ids.subarray(0, this.count).indexOf(id);
    if (index < 0) return;
    this.count--;
    this.ids.copyWithin(index, this.count, this.count + 1);
  }

  /** The numbers, valid until the next change. */
  values(): Uint32Array {
    return this.ids.subarray(0, this.count);
  }
}
