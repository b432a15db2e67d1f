from collections import Counter

from epir.reports.examples import choose_examples, clip_tokens


def test_right_ones_come_first_and_every_class_takes_its_turn(small):
    run = small(corpora={"casme2": 12}, epochs=2)
    examples = choose_examples(run)
    rights = [example.is_right for example in examples]
    assert rights == sorted(rights, reverse=True)
    assert sum(rights) == 6
    counts = Counter(example.prediction.truth for example in examples if example.is_right)
    assert set(counts.values()) == {2}


def test_they_are_the_surest_of_the_first_seed(small):
    run = small(seeds=2, epochs=2)
    example = choose_examples(run, right=1, wrong=0)[0]
    rivals = [
        each for each in run.predictions if each.seed == 0 and each.strict == each.truth == example.prediction.truth
    ]
    assert example.prediction.seed == 0
    assert max(example.prediction.scores) == max(max(each.scores) for each in rivals)
    assert example.tokens is not None


def test_a_model_that_keeps_no_tokens_still_has_examples(small):
    assert all(example.tokens is None for example in choose_examples(small(tokens=False, epochs=1)))


def test_a_model_without_selection_has_selected_nothing(small):
    run = small(model="vit", epochs=1)
    keys = {each.key for each in run.predictions}
    tokens = clip_tokens(run, keys, 0)
    assert tokens.keys() == keys
    assert all(each.selected == () for each in tokens.values())
