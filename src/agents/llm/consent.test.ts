import { expect, test } from 'vitest';
import { readConsent } from './consent.ts';

const listed = (messages: string) => messages.trim().split(/ \| |\n/);

test.each(
  listed(`
yes | Yes! | YES | yesss | yeah | yup yup | ok | okey | k | aye | sure | 👍 | +1 | 100%
yes please | Yes, go ahead. | go ahead | go ahead please | OK, do it | please do | yes do
sure, thanks | sounds good | looks good to me | lgtm | LGTM! | works for me | that works
that's fine | thats fine | yes, that's correct | yes that is correct | that is right | this is ok
it's all good | everything looks correct | fine by me | all good | no problem | no objections
I agree | i approve this | yes, I confirm | I am sure | yes, I'm sure | I'm ok with that
you may proceed | you have my permission | looks good, go ahead | that is fine, thanks
that's correct, please proceed | yes it is | yes, I do | of course | ship it | "yes" | **yes**
ja | ja bitte | Ja, mach das | das passt | passt so | in ordnung | das ist richtig | genau | na klar
ich bin einverstanden | geht klar, danke | oui | d'accord | vas-y | はい。 | sí, claro
`),
)('"%s" is a yes', (text) => {
  expect(readConsent(text).meaning).toBe('yes');
});

test.each(
  listed(`
no | Nope. | nooo | nah | no thanks | no no no | negative | 👎 | never | not now | not yet
please don't | Don’t do it! | do not | no, don't do that | cancel that | stop | forget it | skip it
that's wrong | that's not right | that isn't correct | it is not ok | this looks wrong | incorrect
I don't agree | i do not approve this | I don't think so | I won't allow that | I disagree | not ok
I'd rather not | I'm not ok with that | i changed my mind | under no circumstances
nein | nein danke | Nein, bitte nicht | das stimmt nicht | auf keinen fall | noch nicht | lass es
`),
)('"%s" is a no', (text) => {
  expect(readConsent(text)).toEqual({ meaning: 'no', saysMore: false });
});

test.each([
  'no, send it to Bob',
  "don't pay him, pay me",
  'no, what is it for?',
  'not the large one',
])('a no that continues is a no, and the rest is for the model: "%s"', (text) => {
  expect(readConsent(text)).toEqual({ meaning: 'no', saysMore: true });
});

const verbs = ['is', 'am', 'does', 'are', 'can', 'will', 'should', 'would', 'may', 'must', "isn't"];
const subjects = ['it', 'that', 'this', 'i', 'you', 'we'];
const starts = [
  ...verbs.flatMap((verb) => subjects.map((each) => `${verb} ${each}`)),
  'do i',
  'do we',
];
test.each(starts)('inverted word order asks: "%s ..."', (start) => {
  for (const rest of ['', ' right', ' ok', ' no problem', ' sure', ' agreed', ' go ahead']) {
    for (const before of [
      '',
      'yes ',
      'ok, ',
      'and ',
      'so ',
      'well ',
      'please ',
      'oh, ',
      'sure, ',
    ]) {
      const text = before + start + rest;
      expect([text, readConsent(text).meaning]).toEqual([text, 'unclear']);
    }
  }
});

test.each(
  listed(`
is that right | is it ok | is that correct | am i right | is that no problem | do i | so do i
isn't it | isn't that right | don't i | ok is it | yes? | no? | ok? | yes ? | ¿sí? | はい？
that's correct, right | that's fine, ok | it's ok, yes or no | that is right right | it's fine, no
you can confirm it is right | you sure | really | why | why not | what is this | what | how much
ist das richtig | stimmt das | passt das so | darf ich | ja? | ja, stimmt das | kann ich
yes, but only half of it | yes no | no, yes | no, that's fine | ja nein | yes if it is cheap
not sure | I'm not sure | maybe | no idea | don't cancel | keine ahnung | wait | hm | please | 
thanks | true story | do | is | it | and | go ahead with half | confirm that it is cheap | -
yes yes you would like that | good grief | right now? | good question
`),
)('"%s" is unclear', (text) => {
  expect(readConsent(text).meaning).toBe('unclear');
});

test.each(['', `yes ${'yes '.repeat(80)}`])(
  'neither nothing nor a long message is a yes',
  (text) => {
    expect(readConsent(text).meaning).toBe('unclear');
  },
);
