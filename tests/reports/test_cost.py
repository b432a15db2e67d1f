from epir.models.registry import model_settings
from epir.reports.cost import cost_table, model_cost


def test_the_papers_model_has_the_papers_size():
    cost = model_cost(model_settings("epir"))
    assert cost.parameters == 7_025_384
    assert 83.6e6 < cost.multiply_accumulates < 85.1e6  # the paper prints 84.03 M


def test_merging_saves_work():
    assert (
        model_cost(model_settings("epir")).multiply_accumulates
        < model_cost(model_settings("epir", integration=0.0)).multiply_accumulates
    )


def test_a_pipeline_has_no_size_to_tell():
    assert model_cost(model_settings("bi-woof")) is None


def test_the_table_has_a_row_per_run_and_no_score(small):
    table = cost_table([small(epochs=1), small("other", model="ststnet", tokens=False, epochs=1)])
    assert [row.cells[:2] for row in table.rows] == [("epir", "7.03"), ("ststnet", "0.00")]
    assert table.rows[0].cells[-1] == "40 s"  # 10 folds of 4 seconds
