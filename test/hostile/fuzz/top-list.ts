/** A request with what it cost. */
export interface Entry {
  readonly nth: number;
  readonly kind: string;
  readonly cost: number;
  readonly request: string;
}

/** The dearest of many requests. */
export interface TopList {
  /** Whether one of this cost would have a place. */
  takes(cost: number): boolean;
  add(entry: Entry): void;
  /** The dearest first. */
  entries(): readonly Entry[];
}

const PLACES = 10;
/** Of one kind only the first few stay, so that others are seen. */
const PLACES_OF_A_KIND = 2;

export function createTopList(): TopList {
  let list: readonly Entry[] = [];
  return {
    takes: (cost) => list.length < PLACES || cost > (list.at(-1)?.cost ?? 0),
    add(entry) {
      const places = new Map<string, number>();
      list = [...list, entry]
        .sort((one, other) => other.cost - one.cost)
        .filter(({ kind }) => {
          const place = (places.get(kind) ?? 0) + 1;
          places.set(kind, place);
          return place <= PLACES_OF_A_KIND;
        })
        .slice(0, PLACES);
    },
    entries: () => list,
  };
}
