export async function ask<Data>(query: string, variables = {}, endpoint = 'http://127.0.0.1:4000/graphql') {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ query, variables });
  const response = await fetch(endpoint, { method: 'POST', headers, body });
  type Fault = { message: string; path?: (string | number)[]; extensions: { code: string } };
  const { data, errors = [] } = (await response.json()) as { data?: Data | null; errors?: Fault[] };
  if (!data) throw Object.assign(new Error(errors[0]?.message), { errors });
  return { data, errors };
}
