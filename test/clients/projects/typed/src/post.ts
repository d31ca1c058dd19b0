/** Sends a query to the gateway. Throws if the response has errors. */
export async function post<Data>(endpoint: string, query: string, variables: unknown): Promise<Data> {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json()) as { data: Data; errors?: unknown };
  if (errors) throw new Error(JSON.stringify(errors));
  return data;
}
