/** The field `heldBack` of chains and tokens. */
import type { HeldBackFact, Token } from '../../domain/listing.js';
import type { GatewayContext } from '../context.js';
import { builder } from './builder.js';

const HeldBackFactType = builder.objectRef<HeldBackFact>('HeldBackFact').implement({
  description:
    'A fact of a chain or token on which the upstream contradicts what is served. Such a fact does not change by itself, and a wrong value costs money. So the last accepted value is served until the new one is confirmed: by the operator, or because the upstream has repeated it for a day (or for another time that the operator has set).',
  fields: (t) => ({
    fact: t.exposeString('fact', {
      description:
        'The name of the fact: "decimals", "symbol" or "address" of a token; "chainId", "chainType" or "nativeCurrency" of a chain. The set is open: treat unknown names like these.',
    }),
    served: t.exposeString('served', {
      description: 'The value that is served: the last accepted one. A number is written as text.',
    }),
    upstream: t.exposeString('upstream', {
      description:
        'The value that the upstream sends now; several values are joined by "and". For "address", it is the address of the token that the upstream lists in place of this one. Show both values to the person, and use neither without their consent.',
    }),
    since: t.expose('since', {
      type: 'DateTime',
      description:
        'When the upstream first sent that value. This time starts again if the upstream sends another value in between.',
    }),
  }),
});

/** The options of the field `heldBack`, except its description. */
export const heldBackField = {
  type: [HeldBackFactType] as [typeof HeldBackFactType],
  resolve({ heldBack }: Pick<Token, 'heldBack'>, _args: object, { cost }: GatewayContext) {
    cost.countRows(heldBack.length);
    return heldBack;
  },
};
