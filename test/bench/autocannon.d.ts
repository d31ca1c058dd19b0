/** As much of autocannon as is used here; the package brings no types. Times are in seconds. */
declare module 'autocannon' {
  interface Options {
    readonly url: string;
    readonly connections: number;
    readonly duration: number;
    /** Milliseconds between samples; a run ends at one. */
    readonly sampleInt: number;
    readonly method: 'POST';
    readonly headers: Readonly<Record<string, string>>;
    /** Each connection sends them one after another, round and round. */
    readonly requests: readonly { readonly body: string }[];
  }

  interface Run extends PromiseLike<{ errors: number; non2xx: number; requests: { sent: number } }> {
    on(
      event: 'response',
      listener: (client: unknown, status: number, bytes: number, ms: number) => void,
    ): this;
  }

  function autocannon(options: Options): Run;
  export = autocannon;
}
