/** Both pages go on working where only trusted documents are executed. */
import { expect, it, onTestFinished } from 'vitest';
import { BROWSER_TIMEOUT_MS, isBrowserMissing, launchBrowser } from '../support/browser.js';
import { temporaryFile } from '../support/ends.js';
import { ask, post, startGatewayProcess } from '../support/gateway-process.js';

it('a process enforces RATE_LIMIT for each client', async () => {
  const { address } = await startGatewayProcess({ RATE_LIMIT: '1/300', TRUSTED_PROXIES: 'loopback' });
  const statusOf = async (nth: number, client: string) => {
    const query = `{ chain(chainKey: "key${nth}") { name } }`;
    return (await post(address, { query }, { 'x-forwarded-for': client })).status;
  };
  const statuses = new Set<number>();
  for (let nth = 0; nth < 400 && !statuses.has(429); nth++) statuses.add(await statusOf(nth, '192.0.2.1'));
  expect([...statuses]).toEqual([200, 429]);
  expect(await statusOf(0, '192.0.2.2')).toBe(200);
});

it.skipIf(isBrowserMissing)(
  'both pages go on working where only trusted documents are executed',
  { timeout: 300_000 },
  async () => {
    const documents = temporaryFile(JSON.stringify({ a: '{ __typename }' }));
    const { address, output } = await startGatewayProcess({
      TRUSTED_DOCUMENTS: documents,
      TRUSTED_DOCUMENTS_ONLY: 'true',
    });
    expect(await ask(address, '{ chains { name } }')).toMatchObject({
      errors: [{ extensions: { code: 'DOCUMENT_NOT_TRUSTED' } }],
    });
    const browser = await launchBrowser(onTestFinished);
    const page = await browser.newPage();
    page.setDefaultTimeout(BROWSER_TIMEOUT_MS);
    const refused: string[] = [];
    const asked: string[] = [];
    page.on('response', (response) => {
      const text = response.request().postData();
      if (text !== null) asked.push(text);
      if (response.status() >= 400) refused.push(`${response.status()} ${text}`);
    });
    await page.goto(address);
    await expect.poll(() => asked.length, { timeout: BROWSER_TIMEOUT_MS }).toBeGreaterThan(1);
    await page.goto(`${address}/graphql`);
    await page.locator('.graphiql-query-editor .view-line').first().waitFor();
    await expect
      .poll(() => asked.join(), { timeout: BROWSER_TIMEOUT_MS })
      .toContain('query IntrospectionQuery');
    await page.locator('.graphiql-execute-button').click();
    await expect.poll(() => asked.join(), { timeout: BROWSER_TIMEOUT_MS }).toContain('FindTokens');
    expect(refused).toEqual([]);
    expect(output()).toContain('"msg":"All trusted documents are valid"');
  },
);
