/** The simplest server on `node:http`: it finds stored bytes by the text of the request, and sends them. */
import { serveBodies } from './serve.js';

export interface BareAnswers {
  readonly contentType: string;
  readonly answers: readonly (readonly [requestBody: string, answer: string])[];
}

let contentType = '';
const answers = new Map<string, Buffer>();

serveBodies((text, { method }, response) => {
  if (method === 'PUT') {
    const put = JSON.parse(text) as BareAnswers;
    contentType = put.contentType;
    for (const [body, answer] of put.answers) answers.set(body, Buffer.from(answer));
    response.end();
    return;
  }
  const answer = answers.get(text);
  const headers = { 'content-type': contentType, 'content-length': answer?.byteLength ?? 0 };
  response.writeHead(answer ? 200 : 404, headers).end(answer);
});
