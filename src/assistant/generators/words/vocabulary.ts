import { stem } from './stem.ts';

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/));

/** Words that say nothing about what is wanted. */
export const fillers = words(
  `a an the this that these those some any all it its i me my mine we us our you your he she they
   them their am is are was were be been being do does did doing done have has had having will
   would shall should can could may might must want wants wanted wish need needs needed like love
   please kindly just really actually maybe perhaps now again also too so then well okay ok yes no
   not hi hello hey thanks thank there here and or but if of to for from in on at with by about as
   into onto via per than im id ill ive youre lets let's i'm i'd i'll i've gonna wanna going go get
   got make made making help try trying able possible could'nt what what's whats whom
   whose how why one thing things something anything else more much many good great um
   uh hmm oh sorry sir madam dear today soon right quickly quick asap myself yourself another
   don't dont doesn't isn't can't cannot give take put us up out over off how's
   looking forward time ahead first later next someone somebody
   anyone people euro euros eur dollar dollars usd buck bucks pound pounds gbp quid chf francs
   cents kg km`,
);

/** Words so common in requests that missing one says little. */
export const weakWords = new Set(
  'show list see view tell check look find know display start say ask use work when where who which'
    .split(' ')
    .map(stem),
);

/** Words that open a place, a person or a reason: what follows is about the request, not the request. */
export const prepositions = words(
  'to from for with at on in by of about into onto via near until till since before after between because regarding called named saying',
);

/** Groups of words that mean the same in requests. */
const groups = [
  'send transfer pay wire remit',
  'show list view see display',
  'add create register new',
  'remove delete erase',
  'change update edit modify',
  'book schedule reserve arrange',
  'freeze block lock',
  'unfreeze unblock unlock',
  'buy purchase order',
  'begin start open',
  'close end terminate',
  'check verify',
  'find search',
  'cash money',
  'bill invoice',
  'trip travel journey',
  'flat apartment',
  'mobile phone cell',
].map((group) => group.split(' ').map(stem));

const byStem = new Map<string, readonly string[]>();
for (const group of groups) {
  for (const one of group) {
    const others = group.filter((other) => other !== one);
    byStem.set(one, [...(byStem.get(one) ?? []), ...others]);
  }
}

/** Stems that mean nearly the same, without the stem itself. */
export function synonymsOf(stemmed: string): readonly string[] {
  return byStem.get(stemmed) ?? [];
}
